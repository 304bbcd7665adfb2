/** The laws of batching: pipelines B1 to B17, as BA1 to BA4 and BY2, BY3 have them. */
import * as fc from 'fast-check'
import { keyedLaw } from './batchKeyed.ts'
import { accepted, batchesOf, play, refusalsOf } from './batchPlay.ts'
import type { Batched, BatchUnderTest, Item, Trace } from './batchPlay.ts'
import { fits, frameOf, world } from './batchWorld.ts'
import type { Settings, World, WorldOptions } from './batchWorld.ts'
import { holds, law, same } from './policyLaw.ts'
import type { Law } from './policyLaw.ts'

const numbers = (items: ReadonlyArray<Item>): ReadonlyArray<number> => items.map((item) => item.n)

const grouping = (trace: Trace): ReadonlyArray<ReadonlyArray<number>> =>
  batchesOf(trace).map((batch) => numbers(batch.items))

const bytesOf = (items: ReadonlyArray<Item>, settings: Settings): number =>
  frameOf(settings).size + items.reduce((sum, item) => sum + item.size, 0) + items.length - 1

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

export const batchLaws = (make: BatchUnderTest): ReadonlyArray<Law> => {
  const always = (
    id: string,
    options: WorldOptions,
    check: (trace: Trace, settings: Settings, asked: World) => void,
  ): Law =>
    law(
      id,
      fc.property(world(options), (asked) => {
        check(play(make, asked), asked.settings, asked)
      }),
    )

  return [
    always(
      'B1 what goes in comes out once and in order, or is handed back',
      { within: true },
      (trace, settings) => {
        const out = [...batchesOf(trace).flatMap((batch) => batch.items), ...trace.abandoned.flat()]
        same(numbers(out), numbers(accepted(trace, settings)))
        holds(
          out.every((item) => item === trace.offered[item.n]),
          'an item is a copy',
        )
      },
    ),

    always('B2 what is too large is turned away at once', {}, (trace, settings) => {
      const refused = trace.offered.filter((item) => !fits(settings, item.size))
      same(
        refusalsOf(trace).map((each) => (each._tag === 'TooLarge' ? [each.id, each.size, each.limit] : each)),
        refused.map((item) => [`m${String(item.n)}`, bytesOf([item], settings), settings.maxBytes]),
      )
      const times = trace.events.flatMap((event) => (event.kind === 'refused' ? [event.at] : []))
      same(
        times,
        refused.map((item) => item.at),
      )
    }),

    always('B2 and the open batch does not notice', {}, (trace, settings, asked) => {
      const commands = asked.commands.map((each) =>
        each.do === 'offer' && !fits(settings, each.size) ? ({ do: 'advance', ms: 0 } as const) : each,
      )
      const without = play(make, { settings, commands })
      const shape = (each: Trace) =>
        batchesOf(each).map(({ items, at, during, closedBy }) => [
          items.map((item) => item.size),
          at,
          during,
          closedBy,
        ])
      same(shape(trace), shape(without))
    }),

    always('B3 no batch is empty', { within: true }, (trace) => {
      holds(
        batchesOf(trace).every((batch) => batch.items.length > 0),
        'a batch is empty',
      )
    }),

    always('B4 no batch has more members than allowed', { within: true }, (trace, { maxCount }) => {
      holds(
        batchesOf(trace).every((batch) => batch.items.length <= maxCount),
        'a batch has too many members',
      )
    }),

    always(
      'B5 no body is larger than allowed, and its size is exact',
      { within: true },
      (trace, settings) => {
        for (const batch of batchesOf(trace)) {
          const bytes = bytesOf(batch.items, settings)
          holds(bytes <= settings.maxBytes, `a body has ${String(bytes)} bytes`)
          same([batch.byteLength, ...batch.bodies], [bytes, bytes, bytes])
        }
      },
    ),

    always('B6 no item waits longer than the delay', { ends: [] }, (trace, { maxDelay }, asked) => {
      for (const batch of batchesOf(trace))
        for (const item of batch.items)
          holds(batch.at - item.at <= maxDelay, `an item waited ${String(batch.at - item.at)}`)
      if (maxDelay === Infinity) return
      const later = play(make, { ...asked, commands: [...asked.commands, { do: 'advance', ms: maxDelay }] })
      same(later.rests.at(-1)?.open, 0)
    }),

    always(
      'B7 on completion and on error the rest goes out first',
      { ends: ['complete', 'error'] },
      (trace) => {
        same(trace.rests.at(-1)?.open, 0)
        same(trace.abandoned, [])
      },
    ),

    always(
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

    always('B7 a flush leaves nothing behind', { ends: [] }, (trace, _, { commands }) => {
      commands.forEach((command, i) => {
        if (command.do === 'flush') same(trace.rests[i]?.open, 0)
      })
    }),

    always(
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
      'B9 one timer at most, none while nothing waits, none after the end',
      { within: true },
      (trace, settings) => {
        for (const { timers, open, ended } of trace.rests) {
          const most = ended || open === 0 || settings.maxDelay === Infinity ? 0 : 1
          holds(timers <= most, `${String(timers)} timers while ${String(open)} items wait`)
        }
      },
    ),

    always('B10 a batch closes for one cause, and no sooner', {}, (trace, settings, asked) => {
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

    always('B12 what is offered within an emission lands behind it', { within: true }, (trace) => {
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
      'B13 more room makes no more batches',
      fc.property(world({ ends: ['complete'], fixed: { maxDelay: Infinity, maxBytes: 1e9 } }), (asked) => {
        const commands = asked.commands.filter((command) => command.do !== 'flush')
        const count = (maxCount: number): number =>
          batchesOf(play(make, { commands, settings: { ...asked.settings, maxCount } })).length
        const offered = play(make, { ...asked, commands }).offered.length
        for (const maxCount of [1, 3, 20]) {
          same(count(maxCount), Math.ceil(offered / maxCount))
          holds(count(maxCount + 1) <= count(maxCount), 'more room made more batches')
        }
      }),
    ),

    law(
      'B14 what comes later changes nothing that came before',
      fc.property(world({ ends: [] }), fc.nat(50), (asked, length) => {
        const first = play(make, { ...asked, commands: asked.commands.slice(0, length) })
        const seen = play(make, asked).events.filter((event) => event.during < length)
        same(first.events, seen)
      }),
    ),

    always(
      'B15 with a count of 1 each item leaves at once',
      { fixed: { maxCount: 1 } },
      (trace, settings) => {
        same(
          batchesOf(trace).map((batch) => [numbers(batch.items), batch.at, batch.closedBy]),
          accepted(trace, settings).map((item) => [[item.n], item.at, 'count']),
        )
        holds(
          trace.rests.every(({ timers }) => timers === 0),
          'there is a timer',
        )
      },
    ),

    keyedLaw(make),

    always(
      'B17 items without bytes are bounded all the same',
      { fixed: { maxBytes: 1e9 } },
      (trace, settings, asked) => {
        const commands = asked.commands.map((each) => (each.do === 'offer' ? { ...each, size: 0 } : each))
        same(grouping(play(make, { settings, commands })), grouping(trace))
      },
    ),

    always('L1 what has ended already passes at once', {}, (trace) => {
      const passed = trace.events.flatMap((event) =>
        event.kind === 'left' ? [{ value: event.value, at: event.at, during: event.during }] : [],
      )
      same(passed, trace.lefts)
    }),

    always('L2 every batch has an id of its own', { within: true }, (trace) => {
      const ids = batchesOf(trace).map((batch) => batch.id)
      same(new Set(ids).size, ids.length)
    }),
  ]
}
