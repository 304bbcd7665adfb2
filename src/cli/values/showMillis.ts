/** A time as a reader wants it: `12ms`, `1.2s`, `3m 20s`, `3h 59m`. */
export const showMillis = (millis: number): string => {
  if (millis < 999.5) return `${String(Math.round(millis))}ms`
  const tenths = Math.round(millis / 100)
  if (tenths < 600) return `${String(tenths / 10)}s`
  const seconds = Math.round(millis / 1_000)
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${String(minutes)}m ${String(seconds % 60)}s`
  return `${String(Math.floor(minutes / 60))}h ${String(minutes % 60)}m`
}
