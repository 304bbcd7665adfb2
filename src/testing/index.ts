/**
 * `headrace/testing`: for tests of pipelines, sinks and receivers. A clock that you move, repeatable random
 * numbers, a sink with a script, and a real server on loopback that fails on purpose.
 *
 * @module
 */
export { brokenReceivers, type BrokenReceiver } from './brokenReceivers.ts'
export { testCertificates, type TestCertificate, type TestCertificates } from './certificate.ts'
export {
  checkReceiver,
  type CheckReceiverOptions,
  type ReceiverReport,
  type VectorResult,
} from './checkReceiver.ts'
export { scriptedDisk, type DiskMisbehaviour, type ScriptedDisk, type ScriptedDiskOptions } from './disk.ts'
export { healthy, type Misbehaviour, type FaultScript } from './faults.ts'
export { loopbackReceiver, type Received, type Receiver, type ReceiverOptions } from './loopbackReceiver.ts'
export {
  scriptedNetwork,
  type NetworkAnswer,
  type NetworkCall,
  type NetworkRequest,
  type ScriptedNetwork,
  type ScriptedNetworkOptions,
} from './network.ts'
export { receiverVectors, VECTOR_SECRET, type ReceiverVector } from './receiverVectors.ts'
export {
  scriptedSink,
  type SinkCall,
  type Reply,
  type ScriptedSink,
  type ScriptedSinkOptions,
} from './scriptedSink.ts'
export { seededRandom } from './random.ts'
export {
  virtualClock,
  type PendingTimer,
  type VirtualClock,
  type VirtualClockOptions,
} from './virtualClock.ts'
export { makeWorld, simulate, type Simulation, type World, type WorldOptions } from './simulate.ts'
