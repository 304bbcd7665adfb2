/** For the old client. */
export { OutboxError, outboxFault } from './contract.ts'
export type { OutboxFault, OutboxReason } from './contract.ts'
