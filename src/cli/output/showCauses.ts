import type { Cause } from './Report.ts'

/** How causes are shown. */
export interface ShowCausesOptions {
  /** What a URL is called. Default: itself. */
  readonly nameOf?: (url: string) => string
  /** In a word or two: what happened, and not what to do about it. Default false. */
  readonly short?: boolean
}

/** The words of a detail before it explains itself: `connection refused: nothing listens there` is a refused connection. */
const gist = (detail: string): string => detail.split(/[:;] /)[0] ?? detail

const showCause = ({ reason, status, detail }: Cause, short: boolean): string => {
  const what = status === undefined ? reason : String(status)
  if (detail === undefined) return what
  if (short) return status === undefined ? gist(detail) : what
  return `${what} (${detail})`
}

/** Causes in one line: `http://a.example/hook 503; http://b.example/hook timeout (no verdict within 5000 ms)`. */
export const showCauses = (causes: ReadonlyArray<Cause>, options: ShowCausesOptions = {}): string => {
  const { nameOf = (url: string) => url, short = false } = options
  return causes
    .map((cause) => {
      const what = showCause(cause, short)
      return cause.url === undefined ? what : `${nameOf(cause.url)} ${what}`
    })
    .join('; ')
}
