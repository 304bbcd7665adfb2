// An Express receiver of our own. It verifies the bytes as they came, before anything reads them.
import express from 'express'
import { verifyRaw } from 'headrace/signing'

export const ourReceiver = (secret) => {
  const app = express()
  app.post('/hook', express.raw({ type: () => true, limit: '1mb' }), (request, response) => {
    const verified = verifyRaw(secret, request.body ?? '', request.headers['x-signature'])
    response.sendStatus(verified._tag === 'Right' ? 204 : verified.left.status)
  })
  return app
}
