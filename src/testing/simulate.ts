import type { Task } from 'fp-ts/lib/Task.js'
import type { Random } from '../core/clock.ts'
import { checkOptions, limit, list, optional, strict, withDefault } from '../core/options.ts'
import { diskFault, scriptedDisk, type DiskMisbehaviour, type ScriptedDisk } from './disk.ts'
import { scriptOption } from './faults.ts'
import { scriptedNetwork, type ScriptedNetwork, type ScriptedNetworkOptions } from './network.ts'
import { seededRandom } from './random.ts'
import { virtualClock, type VirtualClock } from './virtualClock.ts'

/** All that a program may touch, of which one number decides everything. */
export interface World {
  /** Timers of the same moment run in an order that the seed decides. */
  readonly clock: VirtualClock
  readonly random: Random
  readonly network: ScriptedNetwork
  readonly disk: ScriptedDisk
  /** Adds a line to the trace, with the time before it. */
  readonly log: (line: string) => void
}

/** The parts of a world, beside its seed. */
export interface WorldOptions {
  /** The network's answers to requests. Default: 200 at once. */
  readonly network?: ScriptedNetworkOptions['script']
  /** Default: none. */
  readonly diskFaults?: ReadonlyArray<DiskMisbehaviour>
  /** Timers that one move of the clock may run. Default 1,000,000. */
  readonly maxTimers?: number
}

/** The result of a simulation. */
export interface Simulation<out A> {
  /** The program's answer. */
  readonly value: A
  /** Requests, disk operations and log lines, each with its time. The same seed gives the same trace. */
  readonly trace: ReadonlyArray<string>
  /** The virtual time that passed, in milliseconds. */
  readonly duration: number
}

const worldOptions = strict({
  network: optional(scriptOption<ScriptedNetworkOptions['script']>()),
  diskFaults: optional(list('faults', 0, Infinity, diskFault)),
  maxTimers: withDefault(limit('timers'), 1_000_000),
})

/** A world and its trace; `onLine` receives each line. The network and the disk log to it. */
export const makeWorld = (
  seed: number,
  options: WorldOptions = {},
  onLine: (line: string) => void = () => undefined,
): World & { readonly trace: ReadonlyArray<string> } => {
  const given = checkOptions('options of a world', worldOptions, options)
  const { network = [], diskFaults: faults = [], ...limits } = given
  const trace: string[] = []
  // Ties have numbers of their own, so that a new timer does not change the program's draws.
  const clock = virtualClock({ ...limits, ties: seededRandom(~seed) })
  const log = (line: string): void => {
    trace.push(line)
    onLine(line)
  }
  return {
    clock,
    random: seededRandom(seed),
    network: scriptedNetwork({ clock, log, script: network }),
    disk: scriptedDisk({ clock, log, faults }),
    log: (line) => log(`${String(clock.monotonic())} ms: ${line}`),
    trace,
  }
}

/**
 * Runs a program in a world that the seed decides, and moves its time until the program is done. Take time,
 * chance, network and disk from the world; then the same seed gives the same trace. Rejects with the
 * program's error, or with a report of a deadlock, and the end of the trace.
 *
 * @example
 * import { simulate, type World } from 'headrace/testing'
 *
 * const play = async ({ clock, network }: World) => {
 *   const { status } = await network.request()
 *   await clock.sleep(60_000)
 *   return status
 * }
 * const { value, duration } = await simulate(7, play, { network: [{ do: 'status', code: 503, after: 20 }] })
 * console.log(value, duration) // => 503 60020
 */
export const simulate = async <A>(
  seed: number,
  play: (world: World) => Promise<A> | Task<A>,
  options: WorldOptions = {},
): Promise<Simulation<A>> => {
  const { trace, ...world } = makeWorld(seed, options)
  try {
    return { value: await world.clock.run(play(world)), trace, duration: world.clock.monotonic() }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const end = trace.length === 0 ? [] : ['the end of the trace:', ...trace.slice(-30)]
    throw new Error([`seed ${String(seed)}: ${message}`, ...end].join('\n  '), { cause: error })
  }
}
