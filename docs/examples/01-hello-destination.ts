// Sends one event to a webhook and prints how it ended.
import { webhookDestination } from 'headrace/destination'
import { loopbackReceiver } from 'headrace/testing'

const receiver = await loopbackReceiver() // stands for https://your.example/hook

const destination = webhookDestination({
  sharedSecret: 'correct horse',
  webhooks: [{ url: receiver.url, headers: { 'X-Team': 'blue' } }],
})
destination.outcomes$.subscribe(({ _tag, item }) => console.log(_tag, item.id))

const answer = await destination.send({ type: 'identify', userId: 'u1', messageId: 'm1' })
if (answer._tag === 'Left') throw new Error(`not accepted: ${answer.left._tag}`)

await destination.close()
// => Delivered m1
const [request] = receiver.received
console.log(request?.headers['x-team'], typeof request?.headers['x-signature']) // => blue string
await receiver.close()
