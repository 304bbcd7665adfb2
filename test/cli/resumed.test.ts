import * as fc from 'fast-check'
import { Readable } from 'node:stream'
import { crc32 } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { behind, endToText, fromText, START, toText, resumed } from '../../src/cli/input.ts'
import type { Mark, Placed, Position } from '../../src/cli/input.ts'
import { ndjson } from '../../src/sources/ndjson.ts'

const read = (lines: ReadonlyArray<string>) => ndjson(Readable.from(lines.map((line) => `${line}\n`)))

/** What a run reads of an input, and what it says of it. */
const resume = async (lines: ReadonlyArray<string>, mark: Mark | undefined) => {
  const seen: Placed[] = []
  const told: Array<number | 'other'> = []
  const options = {
    lines: read(lines),
    again: () => read(lines),
    mark,
    onPassed: (_: Position, count: number) => told.push(count),
    onOther: () => told.push('other'),
  }
  try {
    for await (const each of resumed(options)) seen.push(each)
    return { seen, told, changed: false }
  } catch {
    return { seen, told, changed: true }
  }
}

const numbersOf = (seen: ReadonlyArray<Placed>): ReadonlyArray<number> =>
  seen.map(({ read: each }) => (each._tag === 'Right' ? each.right.line : each.left.line))

/** Few different lines, so that inputs that differ often have the same line in the same place. */
const aLine = fc.constantFrom('{"a":1}', '{"a":2}', '{"a":', 'oops', '', '7')
const anInput = fc.array(aLine, { maxLength: 8, size: 'max' })

interface World {
  readonly before: ReadonlyArray<string>
  readonly stop: number
  readonly now: ReadonlyArray<string>
  readonly ended: boolean
}

const aWorld: fc.Arbitrary<World> = fc.record({
  before: anInput,
  stop: fc.nat(7),
  now: anInput,
  ended: fc.boolean(),
})
/** As it mostly is: the same, and longer. */
const aLongerWorld: fc.Arbitrary<World> = aWorld.map((world) => ({
  ...world,
  now: [...world.before, ...world.now],
}))

type MarkOf = (place: Placed, ended: boolean) => Mark | undefined

const markOf: MarkOf = ({ position }, ended) => fromText(ended ? endToText(position, 1) : toText(position))

/** Nothing that an earlier run has not taken is passed over, and nothing that it took is read again unless it is said. */
const holds = async ({ before, stop, now, ended }: World, mark: MarkOf): Promise<boolean> => {
  const { seen: all } = await resume(before, undefined)
  const taken = all.filter((each) => each.read._tag === 'Right').at(stop)
  if (taken === undefined) return true
  const { line } = taken.position
  const whole = numbersOf((await resume(now, undefined)).seen)
  const { seen, told, changed } = await resume(now, mark(taken, ended))
  // Of a line that is no JSON it is known that it is none, and from where on.
  const kindOf = (text = ''): unknown => (text === '7' || text.endsWith('}') ? text : text.length)
  const isSame = before.slice(0, line).every((text, at) => kindOf(text) === kindOf(now[at]))
  if (isSame)
    return (
      !changed &&
      told[0] !== 'other' &&
      String(numbersOf(seen)) === String(whole.filter((each) => each > line))
    )
  if (!ended) return changed && seen.length === 0
  return !changed && told[0] === 'other' && String(numbersOf(seen)) === String(whole)
}

describe('a run that goes on behind another', () => {
  it('passes over what was taken, if all of it is still what it was', async () => {
    await fc.assert(fc.asyncProperty(aWorld, (world) => holds(world, markOf)))
    await fc.assert(fc.asyncProperty(aLongerWorld, (world) => holds(world, markOf)))
  })

  it('finds a mark that knows the last line alone', async () => {
    const lastLine: MarkOf = ({ read: each, position }, ended) =>
      each._tag === 'Right'
        ? { line: position.line, sum: crc32(each.right.text), of: 'lastLine', ended: ended ? 1 : undefined }
        : undefined
    const found = await fc.check(
      fc.asyncProperty(aWorld, (world) => holds(world, lastLine)),
      { numRuns: 10_000 },
    )
    expect(found.failed).toBe(true)
  })

  it('takes marks of older versions, which know the last line alone', async () => {
    const mark = fromText(`2:${String(crc32('{"a":2}'))}`)
    expect(mark).toMatchObject({ line: 2, of: 'lastLine', ended: undefined })
    const { seen, told } = await resume(['{"a":9}', '{"a":2}', '{"a":3}'], mark)
    expect([numbersOf(seen), told]).toEqual([[3], [2]])
    // From here on all of it counts.
    const all = await resume(['{"a":9}', '{"a":2}', '{"a":3}'], undefined)
    expect(seen[0]?.position).toEqual(all.seen[2]?.position)
    expect((await resume(['{"a":9}', '{"a":1}', '{"a":3}'], mark)).changed).toBe(true)
  })
})

describe('a mark as it is stored', () => {
  it('comes back', () => {
    fc.assert(
      fc.property(
        fc.record({ line: fc.integer({ min: 1, max: 1e12 }), sum: fc.integer({ min: 0, max: 0xffffffff }) }),
        fc.nat(),
        (place, at) => {
          expect(fromText(toText(place))).toEqual({ ...place, of: 'everything', ended: undefined })
          expect(fromText(endToText(place, at))).toEqual({ ...place, of: 'everything', ended: at })
        },
      ),
    )
  })

  it.each([undefined, '', 'all:0:0', '0:0', 'all:1', 'all:1:2:3', 'end:1:2', 'new:1:2', '1:2:3', 'x'])(
    '%j is none',
    (text) => {
      expect(fromText(text)).toBeUndefined()
    },
  )

  it('tells lines that were joined or parted', () => {
    const right = (line: number, text: string): Placed['read'] => ({
      _tag: 'Right',
      right: { line, text, value: undefined },
    })
    const one = behind(behind(START, right(1, 'ab')), right(2, 'c'))
    const other = behind(behind(START, right(1, 'a')), right(2, 'bc'))
    expect(one.sum).not.toBe(other.sum)
  })
})
