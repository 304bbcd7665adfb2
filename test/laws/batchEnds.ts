/** The laws of batching that say when a batch closes, and what is left behind then: pipelines B6 to B12 and B14. */
import * as fc from 'fast-check'
import { accepted, batchesOf, play } from './batchPlay.ts'
import type { Batched, BatchUnderTest, Item } from './batchPlay.ts'
import { world } from './batchWorld.ts'
import type { World } from './batchWorld.ts'
import { holds, law, same } from './policyLaw.ts'
import type { Law } from './policyLaw.ts'
import { always, bytesOf, numbers } from './batchLaw.ts'

/** Why this batch was allowed to close when it did; `next` is the item after it. */
const mayClose = (
  batch: Batched,
  before: number,
  next: Item | undefined,
  { settings, commands }: World,
): boolean => {
  const bytes = bytesOf(batch.items, settings)
  const first = batch.items[0]?.at ?? NaN
  const command = commands[batch.during]?.do
  switch (batch.closedBy) {
    case 'count':
      return batch.items.length === settings.maxCount
    case 'bytes':
      return bytes === settings.maxBytes || (next !== undefined && bytes + 1 + next.size > settings.maxBytes)
    case 'delay':
      return settings.delayFrom === 'firstItem'
        ? batch.at === first + settings.maxDelay
        : batch.at === Math.max(before + settings.maxDelay, first)
    case 'flush':
      return command === 'flush'
    case 'end':
      return command === 'complete' || command === 'error'
  }
}

/** When a batch closes, and for what cause. */
export const batchEndLaws = (make: BatchUnderTest): ReadonlyArray<Law> => [
  always(make, 'B6 no item waits longer than the delay', { ends: [] }, (trace, { maxDelay }, asked) => {
    for (const batch of batchesOf(trace))
      for (const item of batch.items)
        holds(batch.at - item.at <= maxDelay, `an item waited ${String(batch.at - item.at)}`)
    if (maxDelay === Infinity) return
    const later = play(make, { ...asked, commands: [...asked.commands, { do: 'advance', ms: maxDelay }] })
    same(later.rests.at(-1)?.open, 0)
  }),

  always(
    make,
    'B7 on completion and on error the rest goes out first',
    { ends: ['complete', 'error'] },
    (trace) => {
      same(trace.rests.at(-1)?.open, 0)
      same(trace.abandoned, [])
    },
  ),

  always(
    make,
    'B7 at unsubscribing nothing goes out, and the rest is handed back once',
    { ends: ['teardown'] },
    (trace, _, asked) => {
      const at = asked.commands.findIndex((command) => command.do === 'teardown')
      const open = trace.rests[at - 1]?.open ?? 0
      same(
        trace.abandoned.map((items) => items.length),
        open === 0 ? [] : [open],
      )
      holds(
        !trace.events.some((event) => event.during >= at && event.kind !== 'abandoned'),
        'something went out',
      )
    },
  ),

  always(make, 'B7 a flush leaves nothing behind', { ends: [] }, (trace, _, { commands }) => {
    commands.forEach((command, i) => {
      if (command.do === 'flush') same(trace.rests[i]?.open, 0)
    })
  }),

  always(
    make,
    'B8 it ends once, as its source ended, and nothing comes after',
    { within: true },
    (trace, _, { commands }) => {
      const kinds = trace.events.map((event) => event.kind)
      const ends = kinds.filter((kind) => kind === 'complete' || kind === 'error')
      holds(ends.length <= 1, 'it ended twice')
      if (ends.length === 1) same(kinds.at(-1), ends[0])
      const plain = !commands.some((command) => command.do === 'within')
      const end = commands.find(
        ({ do: what }) => what === 'complete' || what === 'error' || what === 'teardown',
      )
      if (plain) same(ends, end?.do === 'teardown' ? [] : [end?.do])
    },
  ),

  always(
    make,
    'B9 one timer at most, none while nothing waits, none after the end',
    { within: true },
    (trace, settings) => {
      for (const { timers, open, ended } of trace.rests) {
        const most = ended || open === 0 || settings.maxDelay === Infinity ? 0 : 1
        holds(timers <= most, `${String(timers)} timers while ${String(open)} items wait`)
      }
    },
  ),

  always(make, 'B10 a batch closes for one cause, and no sooner', {}, (trace, settings, asked) => {
    const items = accepted(trace, settings)
    let before = 0
    let taken = 0
    for (const batch of batchesOf(trace)) {
      taken += batch.items.length
      holds(mayClose(batch, before, items[taken], asked), `closed by ${batch.closedBy} with no right to`)
      before = batch.at
    }
  }),

  always(
    make,
    'B11 the same commands give the same, whatever the wall clock does',
    { within: true },
    (trace, settings, asked) => {
      same(play(make, asked), trace)
      const commands = asked.commands.map((each) =>
        each.do === 'wall' ? ({ do: 'advance', ms: 0 } as const) : each,
      )
      same(play(make, { settings, commands }), trace)
    },
  ),

  always(make, 'B12 what is offered within an emission lands behind it', { within: true }, (trace) => {
    holds(!trace.events.some((event) => event.kind === 'nested'), 'an emission came within another')
    for (const batch of batchesOf(trace))
      holds(
        batch.items.every((item) => item.n < batch.offered),
        'an item left before it was offered',
      )
    const order = batchesOf(trace).flatMap((batch) => numbers(batch.items))
    holds(
      order.every((n, i) => i === 0 || n > (order[i - 1] ?? -1)),
      'items overtook each other',
    )
  }),

  law(
    'B14 what comes later changes nothing that came before',
    fc.property(world({ ends: [] }), fc.nat(50), (asked, length) => {
      const first = play(make, { ...asked, commands: asked.commands.slice(0, length) })
      const seen = play(make, asked).events.filter((event) => event.during < length)
      same(first.events, seen)
    }),
  ),
]
