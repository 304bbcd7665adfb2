import { expect, it } from 'vitest'
import { Event } from '../../src/event/index.ts'
import { jsonSchemaOf, openApiOf } from '../../src/schema/index.ts'
import { headrace } from './inProcess.ts'

it.each([
  ['events', () => jsonSchemaOf(Event)],
  ['openapi', () => openApiOf({ title: 'Mine', version: '2.1.0' })],
])('prints %s', async (what, made) => {
  const flags = ['--title', 'Mine', '--api-version', '2.1.0']
  const { code, stdout, stderr } = await headrace(['schema', what, ...flags])
  expect([code, stderr]).toEqual([0, ''])
  const document = made()
  expect(JSON.parse(stdout)).toEqual(document._tag === 'Right' ? document.right : 'left')
})

it('says what is wrong with its arguments, and helps', async () => {
  const { code, stderr } = await headrace(['schema', 'xml'])
  expect([code, stderr]).toEqual([2, 'headrace schema: WHAT must be events or openapi\n'])
  expect((await headrace(['schema'])).code).toBe(2)
  expect((await headrace(['schema', '--help'])).stdout).toContain('headrace schema openapi --title')
})
