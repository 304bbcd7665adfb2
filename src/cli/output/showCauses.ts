import type { Cause } from './Report.ts'

const showCause = ({ reason, status, detail }: Cause): string => {
  const short = status === undefined ? reason : String(status)
  return detail === undefined ? short : `${short} (${detail})`
}

/** Causes in one line: `http://a.example/hook 503; http://b.example/hook timeout (no verdict within 5000 ms)`. */
export const showCauses = (
  causes: ReadonlyArray<Cause>,
  nameOf: (url: string) => string = (url) => url,
): string =>
  causes
    .map((cause) => (cause.url === undefined ? showCause(cause) : `${nameOf(cause.url)} ${showCause(cause)}`))
    .join('; ')
