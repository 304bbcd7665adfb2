// A sink from a function that answers the Response of a fetch: its status decides.
import { deliver, isOutcome, lift, showFailure, sink, withConcurrency } from 'headrace'
import { exponential } from 'headrace/policy'
import { loopbackReceiver } from 'headrace/testing'
import { from, lastValueFrom, tap } from 'rxjs'

interface Contact {
  readonly id: string
  readonly email: string
}
const server = await loopbackReceiver(({ path, headers }) => {
  if (path.endsWith('c2')) return { do: 'status', code: 422 }
  const isFirst = server.received.filter((each) => each.path === path).length === 1
  // The same key comes with each attempt, so the API can ignore a repeat.
  if (headers['idempotency-key'] === undefined) return { do: 'status', code: 400 }
  return { do: 'status', code: isFirst ? 503 : 201 }
})

const crm = sink(
  'crm',
  ({ id, email }: Contact, { signal }) =>
    fetch(`${server.url}contacts/${id}`, {
      method: 'PUT',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': id },
      body: JSON.stringify({ email }),
      signal,
    }),
  { timeout: 5_000 },
)

const contacts: Contact[] = [
  { id: 'c1', email: 'ann@example.com' },
  { id: 'c2', email: 'wrong' },
]
const ended$ = from(contacts).pipe(
  lift(),
  deliver(withConcurrency({ concurrency: 1 })(crm), { retry: exponential({ base: 10 }) }),
  tap((ended) => {
    if (!isOutcome(ended)) return
    const why = ended._tag === 'Rejected' ? showFailure(ended.failure) : ''
    console.log(ended.item.id, ended._tag, ended.attempts, why)
  }),
)
await lastValueFrom(ended$)
// => c2 Rejected 1 status 422
// => c1 Delivered 2
await server.close()
