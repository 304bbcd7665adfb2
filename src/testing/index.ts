/**
 * `headrace/testing`: for tests of pipelines, sinks and receivers. A clock that you move, repeatable random
 * numbers, a sink with a script, and a real server on loopback that fails on purpose.
 *
 * @module
 */
export { testCertificates, type TestCertificate, type TestCertificates } from './certificate.ts'
export { brokenReceivers, checkReceiver, type CheckReceiverOptions } from './checkReceiver.ts'
export type { BrokenReceiver, ReceiverReport, VectorResult } from './checkReceiver.ts'
export { scriptedDisk, type DiskMisbehaviour, type ScriptedDisk, type ScriptedDiskOptions } from './disk.ts'
export { healthy, type Misbehaviour, type FaultScript } from './faults.ts'
export { loopbackReceiver, type Received, type Receiver, type ReceiverOptions } from './loopbackReceiver.ts'
export { scriptedNetwork } from './network.ts'
export type { NetworkAnswer, NetworkCall, NetworkRequest, ScriptedNetwork } from './network.ts'
export type { ScriptedNetworkOptions } from './network.ts'
export { receiverVectors, VECTOR_SECRET, type ReceiverVector } from './receiverVectors.ts'
export { scriptedSink } from './scriptedSink.ts'
export type { SinkCall, Reply, ScriptedSink, ScriptedSinkOptions } from './scriptedSink.ts'
export { seededRandom } from './random.ts'
export { virtualClock } from './virtualClock.ts'
export type { PendingTimer, VirtualClock, VirtualClockOptions } from './virtualClock.ts'
export { makeWorld, simulate, type Simulation, type World, type WorldOptions } from './simulate.ts'
