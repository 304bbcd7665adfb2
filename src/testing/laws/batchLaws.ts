import { bodyOf } from '../../event/payload.ts'
import { bytesIn, play, worlds, type Batcher, type Item, type Seen, type Trace } from './batchWorld.ts'
import { holds, lawsOver, same, type Law } from './law.ts'

const ofKind = (seen: Trace, ...kinds: ReadonlyArray<Seen['what']>): Trace =>
  seen.filter(({ what }) => kinds.includes(what))

const itemsSeen = (seen: Trace, ...kinds: ReadonlyArray<Seen['what']>) =>
  ofKind(seen, ...kinds).flatMap(({ items }) => items)

/** Items in the order of their keys, else as they are: order is kept within a key. */
const byKey = (items: ReadonlyArray<Item>) => items.toSorted((a, b) => a.key - b.key)

const keysIn = (items: ReadonlyArray<Item>) => [...new Set(items.map(({ key }) => key))]

const ofKey = (all: ReadonlyArray<Item>, key: number | undefined) => all.filter((item) => item.key === key)

const batchesOf = (seen: Trace) => seen.flatMap(({ at, batch }) => (batch ? [{ ...batch, at }] : []))

/**
 * Laws for an operator that gathers payloads into batches: no loss, no large batch, no long wait.
 *
 * @example
 * import { batch } from 'headrace'
 * import { batchLaws, checkLaws } from 'headrace/testing/laws'
 *
 * const reports = await checkLaws(batchLaws(batch), { runs: 20, seed: 1 })
 * console.log(reports.every(({ result }) => result === 'kept')) // => true
 */
export const batchLaws = (makeBatch: Batcher): ReadonlyArray<Law> =>
  lawsOver('batch', worlds, (world, { log }) => play(makeBatch, world, 0, log), {
    'nothing-lost': {
      statement: 'What is taken in comes out once, as it is and in the order of its key, or is handed back.',
      check: (seen) => {
        const [taken, out] = [byKey(itemsSeen(seen, 'taken')), byKey(itemsSeen(seen, 'batch', 'handed back'))]
        same(out, taken)
        holds(!out.some((item, at) => item !== taken[at]), 'an item is a copy')
      },
    },
    'size-is-exact': {
      statement: 'A batch has an id of its own, is not empty, not too large, and as large as it says.',
      situations: ['a full body'],
      check: (seen, { maxBytes, maxCount }, { reach }) => {
        const batches = batchesOf(seen)
        same(new Set(batches.map(({ id }) => id)).size, batches.length)
        for (const batch of batches) {
          const bytes = bytesIn(batch.items)
          if (bytes === maxBytes) reach('a full body')
          holds(batch.items.length > 0, 'a batch is empty')
          holds(batch.items.length <= (maxCount ?? Infinity), 'a batch has too many members')
          holds(bytes <= maxBytes, `a body has ${String(bytes)} bytes`)
          const members = batch.members.map(({ id, items }) => [id, ...items])
          const meant = batch.items.map((item) => [`m${String(item.n)}`, item])
          same(members, meant)
          same([batch.byteLength, Buffer.byteLength(bodyOf(batch, 0))], [bytes, bytes])
        }
      },
    },
    'no-needless-wait': {
      statement: 'No item waits longer than the maximum delay, and none in a batch that is full.',
      check: (seen, { maxCount, maxBytes, maxDelay }) => {
        for (const { items, at } of ofKind(seen, 'batch'))
          holds(at <= (items[0]?.at ?? at) + (maxDelay ?? Infinity), 'an item waited longer than the delay')
        for (const { open, at } of ofKind(seen, 'rest')) {
          holds(at < (open[0]?.at ?? at) + (maxDelay ?? Infinity), 'an item waits longer than the delay')
          for (const key of keysIn(open)) {
            const own = ofKey(open, key)
            holds(own.length < (maxCount ?? Infinity), `${String(own.length)} items wait`)
            holds(bytesIn(own) < maxBytes, 'a full body waits')
          }
        }
      },
    },
    'ends-once': {
      statement: 'It ends once, as its source ends, and nothing comes out afterwards.',
      situations: ['complete', 'error', 'unsubscribe'],
      check: (seen, _, { reach }) => {
        const [end = ''] = ofKind(seen, 'complete', 'error', 'unsubscribe').map(({ what }) => what)
        reach(end)
        const cut = seen.findIndex(({ what }) => what === 'unsubscribe' || what === 'ended')
        same(seen[cut]?.text, end === 'unsubscribe' ? '' : end)
        same(ofKind(seen.slice(cut + 1), 'batch', 'passed', 'ended'), [])
      },
    },
    'one-key': {
      statement: 'A batch has items of one key; for one key more than may be open, the oldest batch closes.',
      situations: ['one key too many'],
      check: (seen, { maxKeys }, { reach }) => {
        for (const { items, batch, open, isNested } of ofKind(seen, 'batch')) {
          same(keysIn(items).length, 1)
          if (batch?.closedBy !== 'keys' || isNested) continue
          reach('one key too many')
          holds(!open.some(({ n }) => n < (items[0]?.n ?? 0)), 'an older batch is open')
        }
        for (const { open } of ofKind(seen, 'rest'))
          holds(keysIn(open).length <= maxKeys, `${String(keysIn(open).length)} keys are open`)
      },
    },
    'one-timer': {
      statement: 'It has one timer at most, none while nothing waits, and none after the end.',
      check: (seen, { maxDelay, maxCount }) => {
        for (const { timers, open } of ofKind(seen, 'rest')) {
          const isIdle = open.length === 0 || maxDelay === null || maxCount === 1
          holds(timers <= (isIdle ? 0 : 1), `${String(timers)} timers, ${String(open.length)} items wait`)
        }
      },
    },
    'wall-clock-is-free': {
      statement: 'The same commands give the same, whatever the wall clock does.',
      check: (seen, world) =>
        [-5, 5].forEach((hours) => same(play(makeBatch, world, hours * 3_600_000), seen)),
    },
    'no-emission-within-another': {
      statement: 'What is offered within an emission comes out after it.',
      situations: ['offered within an emission'],
      check: (seen, _, { reach }) => {
        const nested = seen.filter(({ isNested }) => isNested)
        if (itemsSeen(nested, 'taken').length > 0) reach('offered within an emission')
        same(ofKind(nested, 'batch', 'passed', 'ended'), [])
      },
    },
    'passes-what-fits-no-batch': {
      statement: 'Ended items, and those too large for a batch, come out at once, and the open batch stays.',
      situations: ['left while a batch is open', 'refused while a batch is open'],
      check: (seen, _, { reach }) => {
        // Within an emission other things may come first.
        for (const [at, { what, text, open, isNested }] of seen.entries()) {
          if (what !== 'passing' || isNested) continue
          if (open.length > 0) reach(`${text.split(' ', 1).join()} while a batch is open`)
          const next = seen.slice(at + 1, at + 3)
          same([next[0]?.text, next[1]?.what], [text, 'rest'])
        }
      },
    },
    'nothing-stays-behind': {
      statement: 'A flush, an end and an error leave nothing behind; an unsubscription hands it back once.',
      situations: ['flush', 'complete', 'error', 'unsubscribe'],
      check: (seen, _, { reach }) => {
        let flushed: Seen['open'] = []
        for (const { what, open } of ofKind(seen, 'flush', 'complete', 'error', 'rest')) {
          if (what !== 'rest') flushed = open
          else holds(!open.some((item) => flushed.includes(item)), 'an item stays behind')
          if (what !== 'rest' && open.length > 0) reach(what)
        }
        const left = ofKind(seen, 'unsubscribe').flatMap(({ open }) => (open.length > 0 ? [open] : []))
        if (left.length > 0) reach('unsubscribe')
        const back = ofKind(seen, 'handed back').map(({ items }) => items)
        same(back.map(byKey), left.map(byKey))
      },
    },
    'closes-for-its-cause': {
      statement: 'A batch closes for the cause that it names, and no sooner.',
      situations: ['count', 'bytes', 'delay', 'flush', 'end', 'keys'],
      check: (seen, { maxCount, maxBytes, maxDelay, maxKeys, delayFrom }, { reach }) => {
        const taken = itemsSeen(seen, 'taken')
        for (const { id, items, at, closedBy } of batchesOf(seen)) {
          const [start = { at: NaN, key: NaN }, last] = [items[0], items.at(-1)]
          const own = ofKey(taken, start.key)
          const next = own[own.findIndex((item) => item === last) + 1] ?? { size: 0 }
          const index = seen.findIndex((each) => each.items[0] === start)
          // A batch that the first item has closed comes right after it, at its moment.
          const others = ofKind(seen.slice(0, index + 2), 'batch').filter(({ batch }) => batch?.id !== id)
          const earlier = others.findLast((each) => each.at <= start.at)
          const from = delayFrom === 'firstItem' ? start.at : (earlier?.at ?? 0)
          const isCut = (each: Seen): boolean => each.at === at && ofKey(each.open, start.key).at(-1) === last
          const cut = ofKind(seen, 'flush', 'complete', 'error').find(isCut)?.what
          const isOneMore = (each: Seen): boolean => each.at === at && keysIn(each.open).length > maxKeys
          const mayClose = {
            count: items.length === maxCount,
            bytes: bytesIn([...items, next]) > maxBytes,
            delay: at === Math.max(start.at, from + (maxDelay ?? Infinity)),
            flush: cut === 'flush',
            end: cut === 'complete' || cut === 'error',
            retry: false,
            keys: ofKind(seen, 'taken').some(isOneMore),
          }
          reach(closedBy)
          holds(mayClose[closedBy], `closed by ${closedBy} too soon`)
        }
      },
    },
  })
