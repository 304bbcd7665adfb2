import type { Call } from '../../event/Call.ts'

interface Person {
  readonly name: string
  readonly team: string
  readonly book: string
  readonly total: number
}

const PEOPLE: ReadonlyArray<Person> = [
  { name: 'ada', team: 'analytical engines', book: 'Sketch of the Engine', total: 18.15 },
  { name: 'grace', team: 'compilers', book: 'The Education of a Computer', total: 19.52 },
  { name: 'sofia', team: 'spinning tops', book: 'Über die Reduction', total: 18.74 },
  { name: 'emmy', team: 'symmetries', book: 'Idealtheorie 🜁', total: 19.21 },
  { name: 'alan', team: 'machines', book: 'On Computable Numbers', total: 19.36 },
  { name: 'edsger', team: 'shortest paths', book: 'A Discipline of Programming', total: 19.76 },
]

/** A visitor becomes a customer: what a shop would send. */
const journey = ({ name, team, book, total }: Person): ReadonlyArray<Call> => {
  const anonymousId = `visitor-${name}`
  const userId = `user-${name}`
  const url = 'https://books.example'
  return [
    { type: 'page', anonymousId, name: 'Home', properties: { url: `${url}/`, title: 'Books' } },
    { type: 'page', anonymousId, name: 'Book', properties: { url: `${url}/book`, title: book } },
    { type: 'track', anonymousId, event: 'Sign Up Started', properties: { form: 'short' } },
    { type: 'alias', previousId: anonymousId, userId },
    { type: 'identify', userId, traits: { name, plan: 'reader', email: `${name}@books.example` } },
    { type: 'group', userId, groupId: `team-${name}`, traits: { name: team } },
    { type: 'screen', userId, name: 'Cart', context: { os: { name: 'Tablet OS', version: '7.1' } } },
    { type: 'track', userId, event: 'Product Added', properties: { book, quantity: 1 } },
    { type: 'track', userId, event: 'Order Completed', properties: { book, total } },
  ]
}

const events: ReadonlyArray<Call> = [
  ...PEOPLE.flatMap(journey),
  // Both receivers refuse it: a sum below zero makes no sense to them.
  { type: 'track', userId: 'user-ada', event: 'Order Completed', properties: { book: 'None', total: -1 } },
  { type: 'identify', userId: 'user-grace', traits: { plan: 'librarian' } },
  { type: 'delete', userId: 'user-sofia' },
  { type: 'page', userId: 'user-emmy', name: 'Home', properties: { url: 'https://books.example/' } },
  { type: 'track', userId: 'user-alan', event: 'Book Rated', properties: { stars: 5 } },
  { type: 'delete', userId: 'user-edsger' },
]

/** Two lines that are wrong, by the place at which they stand. Their neighbours do not suffer. */
const MISTAKES: ReadonlyMap<number, string> = new Map([
  [9, '{"type":"track","userId":7,"event":"Order Completed"}'],
  [30, '{"type":"identify","userId":"user-emmy","traits":{"plan":"reader"'],
])

/** What the demo sends: lines of NDJSON with events of all seven kinds, and two mistakes. */
export const sample = (): ReadonlyArray<string> => {
  const lines = events.map((event, at) =>
    JSON.stringify({ messageId: `demo-${String(at + 1).padStart(2, '0')}`, ...event }),
  )
  for (const [at, line] of MISTAKES) lines.splice(at, 0, line)
  return lines
}
