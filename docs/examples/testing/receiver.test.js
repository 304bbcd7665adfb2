// Run by node:test.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { checkReceiver } from 'headrace/testing'
import { planted } from './planted.js'
import { ourReceiver } from './receiver.js'

const SECRET = 'correct horse'

test('our receiver keeps what headrace asks of one', async () => {
  const server = (planted.receiver ?? ourReceiver)(SECRET).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const report = await checkReceiver(`http://127.0.0.1:${server.address().port}/hook`, { secret: SECRET })
  server.close()
  assert.equal(report.kept, true, report.text)
})
