import { AsyncResource } from 'node:async_hooks'

/** Calls `f(first, second)` in the async context of a part, and not in that of the caller. */
export interface OwnContext {
  <O>(f: () => O): O
  <A, O>(f: (first: A) => O, first: A): O
  <A, B, O>(f: (first: A, second: B) => O, first: A, second: B): O
}

/**
 * The async context in which a part is made. Without it, a delivery would carry the trace of the caller that
 * happened to start it, and that caller's store would live as long as the delivery's timers and sockets.
 */
export const ownContext = (): OwnContext => {
  const resource = new AsyncResource('headrace')
  // Not a list of arguments: this runs several times for each item (measured).
  return <A, B, O>(f: (first?: A, second?: B) => O, first?: A, second?: B): O =>
    resource.runInAsyncScope(f, undefined, first, second)
}

const resolved = Promise.resolve()
const inMicrotask = (run: () => void): unknown => resolved.then(run)

/**
 * A function that has `task` run `later`, by default in a microtask, in the part's context: once for all
 * calls until then. So a call of the host starts nothing on the host's stack, which may be near its end.
 */
export const onceSoon = (own: OwnContext, task: () => void, later = inMicrotask): (() => void) => {
  let isAsked = false
  const run = (): void => {
    isAsked = false
    own(task)
  }
  return () => {
    if (isAsked) return
    later(run)
    // Last, because the lines above may throw.
    isAsked = true
  }
}
