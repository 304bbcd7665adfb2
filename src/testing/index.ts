/**
 * `headrace/testing`: what we test headrace with, for your own tests. Time that you move, chance that repeats, a sink that does
 * what it is told, and a real server on loopback that misbehaves on purpose.
 *
 * @module
 */
export { healthy, type Fault, type FaultScript } from './faults.ts'
export {
  loopbackReceiver,
  type Received,
  type Receiver,
  type ReceiverOptions,
  type TestCertificate,
} from './loopbackReceiver.ts'
export {
  scriptedSink,
  type Call,
  type Reply,
  type ScriptedSink,
  type ScriptedSinkOptions,
} from './scriptedSink.ts'
export { seededRandom } from './random.ts'
export { virtualClock, type VirtualClock, type VirtualClockOptions } from './virtualClock.ts'
