// A sink of our own: one POST for each item, over whatever `request` it is given.
import { left, right } from 'fp-ts/lib/Either.js'
import { refused, retryable, sink, withTimeout } from 'headrace'

export const ourSink = ({ request, clock }) => {
  const post = sink('ours', async (item, { signal }) => {
    const { status } = await request({ body: JSON.stringify(item), signal })
    if (status < 300) return right({ sink: 'ours', status })
    if (status === 408 || status === 425 || status === 429 || status >= 500)
      return left(retryable('status', { status }))
    return left(refused('status', { status }))
  })
  return withTimeout(5_000, { clock })(post)
}
