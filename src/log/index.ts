/** `headrace/log`: what happens inside, for logs, metrics and tests. @module */
export { debugListener } from './debug.ts'
export { allListeners, channel } from './listeners.ts'
export { toLogger, type LogFields, type Log, type Logger } from './logger.ts'
export type { Attempted, Listener, LogEvent } from './logEvent.ts'
