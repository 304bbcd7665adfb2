import { AsyncLocalStorage } from 'node:async_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import * as fc from 'fast-check'
import { lastValueFrom, toArray, type Observable } from 'rxjs'
import { aroundEach, it, vi } from 'vitest'
import { systemClock, type Clock } from '../../src/core/clock.ts'

export { holds, same, type Drawn } from '../../src/testing/laws/law.ts'

export type Law = Readonly<{ id: string; property: fc.IAsyncProperty<unknown> }>

export const law = <Input>(
  id: string,
  inputs: fc.Arbitrary<Input>,
  check: (input: Input) => void | Promise<void>,
): Law => ({ id, property: fc.asyncProperty(inputs, async (input) => check(input)) })

export const itKeeps = (laws: ReadonlyArray<Law>): void =>
  it.each(laws)('$id', ({ property }) => fc.assert(property))

/**
 * Plays worlds, and checks the laws by their names, which begin with an id. A law throws if it is broken.
 * `each` is for mutants. `all` plays a world once, and names the law that is broken.
 */
export const lawTable = <Make, World, Trace>(
  worlds: fc.Arbitrary<World>,
  play: (make: Make, world: World) => Trace | Promise<Trace>,
  laws: Readonly<Record<string, (trace: Trace, world: World) => void>>,
) => {
  const property = (make: Make, names: ReadonlyArray<string>): fc.IAsyncProperty<unknown> =>
    fc.asyncProperty(worlds, async (world) => {
      const trace = await play(make, world)
      for (const name of names)
        try {
          laws[name]?.(trace, world)
        } catch (error) {
          throw new Error(`broken: ${name}`, { cause: error })
        }
    })
  const names = Object.keys(laws)
  return {
    each: (make: Make): ReadonlyArray<Law> => names.map((id) => ({ id, property: property(make, [id]) })),
    all: (make: Make) => property(make, names),
  }
}

/**
 * Puts a clock in place of the machine's, in each test. Not the timers of the process, which undici would lose.
 * Parts that other files of this process left behind keep the machine's time.
 */
export const machineTime = (clockOf: () => Clock): void => {
  const own = new AsyncLocalStorage<boolean>()
  aroundEach(async (run) => {
    const { ...machine } = systemClock
    const here = () => (own.getStore() ? clockOf() : machine)
    vi.spyOn(systemClock, 'schedule').mockImplementation((...given) => here().schedule(...given))
    vi.spyOn(systemClock, 'monotonic').mockImplementation(() => here().monotonic())
    await own.run(true, run).finally(() => vi.restoreAllMocks())
  })
}

export const turns = async (count = 1): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise(setImmediate)
}

export const collectGarbage = async (): Promise<void> => {
  setFlagsFromString('--expose-gc')
  await new Promise((resolve) => setTimeout(resolve, 5))
  const collect = runInNewContext('gc') as () => void
  collect()
}

/** Bytes of the heap and beside it that live, after a whole turn of the event loop. */
export const livingBytes = async (): Promise<number> => {
  await new Promise((resolve) => setTimeout(resolve, 20))
  await collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

type Property<Ts extends [unknown, ...unknown[]], Answer> = [
  ...inputs: { [K in keyof Ts]: fc.Arbitrary<Ts[K]> },
  check: (...inputs: Ts) => Answer,
]

export const forAll = <Ts extends [unknown, ...unknown[]]>(...of: Property<Ts, void>): void =>
  fc.assert(fc.property(...of))
export const forAllAsync = <Ts extends [unknown, ...unknown[]]>(...of: Property<Ts, Promise<void>>) =>
  fc.assert(fc.asyncProperty(...of))

export const throwing = (what: unknown) => (): never => {
  throw typeof what === 'string' ? new Error(what) : what
}

export const all = <A>(stream: Observable<A>) => lastValueFrom(stream.pipe(toArray()), { defaultValue: [] })
