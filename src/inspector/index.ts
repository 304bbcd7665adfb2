/**
 * `headrace/inspector`: a page over what runs: state, throughput, receivers, waiting events and their causes,
 * dead letters, and the story of one event. @module
 */
export { inspector, type Inspectable, type Inspector, type InspectorServer } from './inspector.ts'
