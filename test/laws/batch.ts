/** The laws of batching: pipelines B1 to B17, as BA1 to BA4 and BY2, BY3 have them. */
import * as fc from 'fast-check'
import { keyedLaw } from './batchKeyed.ts'
import { accepted, batchesOf, play, refusalsOf } from './batchPlay.ts'
import type { BatchUnderTest, Trace } from './batchPlay.ts'
import { fits, world } from './batchWorld.ts'
import { holds, law, same } from './policyLaw.ts'
import type { Law } from './policyLaw.ts'
import { always, bytesOf, numbers } from './batchLaw.ts'
import { batchEndLaws } from './batchEnds.ts'

const grouping = (trace: Trace): ReadonlyArray<ReadonlyArray<number>> =>
  batchesOf(trace).map((batch) => numbers(batch.items))

/** All laws of batching. */
export const batchLaws = (make: BatchUnderTest): ReadonlyArray<Law> => [
  always(
    make,
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

  always(make, 'B2 what is too large is turned away at once', {}, (trace, settings) => {
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

  always(make, 'B2 and the open batch does not notice', {}, (trace, settings, asked) => {
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

  always(make, 'B3 no batch is empty', { within: true }, (trace) => {
    holds(
      batchesOf(trace).every((batch) => batch.items.length > 0),
      'a batch is empty',
    )
  }),

  always(make, 'B4 no batch has more members than allowed', { within: true }, (trace, { maxCount }) => {
    holds(
      batchesOf(trace).every((batch) => batch.items.length <= maxCount),
      'a batch has too many members',
    )
  }),

  always(
    make,
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

  always(
    make,
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
    make,
    'B17 items without bytes are bounded all the same',
    { fixed: { maxBytes: 1e9 } },
    (trace, settings, asked) => {
      const commands = asked.commands.map((each) => (each.do === 'offer' ? { ...each, size: 0 } : each))
      same(grouping(play(make, { settings, commands })), grouping(trace))
    },
  ),

  always(make, 'L1 what has ended already passes at once', {}, (trace) => {
    const passed = trace.events.flatMap((event) =>
      event.kind === 'left' ? [{ value: event.value, at: event.at, during: event.during }] : [],
    )
    same(passed, trace.lefts)
  }),

  always(make, 'L2 every batch has an id of its own', { within: true }, (trace) => {
    const ids = batchesOf(trace).map((batch) => batch.id)
    same(new Set(ids).size, ids.length)
  }),

  ...batchEndLaws(make),
]
