/** As much of a message as is kept with a failure: it is stored with the item, and a page of HTML helps nobody. */
const LONGEST = 300

const textOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const own = error.message === '' ? error.name : error.message
  return error.cause instanceof Error && error.cause.message !== '' ? `${own}: ${error.cause.message}` : own
}

/** What an error says, in one short text and without its stack: its message, and its cause's (`fetch failed` alone says nothing). */
export const messageOf = (error: unknown): string => {
  try {
    const text = textOf(error)
    return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
  } catch {
    return 'an error that cannot be read'
  }
}
