// An Express receiver that verifies the raw bytes, and ignores an event that it has.
import { once } from 'node:events'
import express from 'express'
import { webhookDestination } from 'headrace/destination'
import { verifyRaw } from 'headrace/signing'

const SECRETS = ['correct horse', 'the secret before it'] // both are valid while you rotate them
const seen = new Set<string>() // a table with a unique key, in production

const app = express()
app.post('/hook', express.raw({ type: () => true }), (request, response) => {
  const body: Buffer | string = request.body ?? '' // undefined if the request has none
  const verified = verifyRaw(SECRETS, body, request.headers['x-signature'])
  if (verified._tag === 'Left') {
    console.log(verified.left.reason) // `explanation` is for your log, not for the answer
    response.sendStatus(verified.left.status)
    return
  }
  const { type, messageId } = JSON.parse(body.toString()) as { type: string; messageId: string }
  if (!seen.has(messageId)) console.log('new', type, messageId)
  seen.add(messageId)
  response.sendStatus(204)
})
const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as { port: number }
const url = `http://127.0.0.1:${port}/hook`

const sendWith = async (sharedSecret: string): Promise<void> => {
  const destination = webhookDestination({ sharedSecret, webhooks: [{ url }] }, { logger: false })
  await destination.send({ type: 'track', userId: 'u1', event: 'Sold', messageId: 'm1' })
  const { totals } = await destination.close()
  console.log('delivered', totals.delivered, 'rejected', totals.rejected)
}
await sendWith('correct horse')
// => new track m1
// => delivered 1 rejected 0
await sendWith('the secret before it')
// => delivered 1 rejected 0
await sendWith('another secret')
// => mismatch
// => delivered 0 rejected 1
server.close()
