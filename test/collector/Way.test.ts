import { describe, expect, it } from 'vitest'
import { endpointOf } from '../../src/collector/requestHandler.ts'

describe('a path', () => {
  it.each([
    '/v1/batch',
    '/v1/batch/',
    '/v1/batch//',
    '/v1/import',
    '/v1/batch?x=/v1/track',
    '/a/b/v1/batch',
    '/v1/import/#x',
  ])('such as %s leads to a batch', (path) => {
    expect(endpointOf(path)).toEqual({ _tag: 'Batch' })
  })

  it.each(['identify', 'track', 'page', 'screen', 'group', 'alias'])(
    '/v1/%s leads to one message of that kind',
    (type) => {
      expect(endpointOf(`/v1/${type}`)).toEqual({ _tag: 'Single', type })
      expect(endpointOf(`/x/v1/${type}/?y`)).toEqual({ _tag: 'Single', type })
    },
  )

  it.each([
    '',
    '/',
    'batch',
    'v1/batch',
    '/v1',
    '/v1/',
    '/v1/delete/x',
    '/v1//batch',
    '/v1/constructor',
    '?/v1/batch',
    '#/v1/batch',
    '/xv1/batch',
  ])('such as %s leads nowhere', (path) => {
    expect(endpointOf(path)).toBeUndefined()
  })

  it('that is as long as can be costs no time', () => {
    expect(endpointOf(`${'/v1/a'.repeat(20_000)}${'/'.repeat(100_000)}x`)).toBeUndefined()
    expect(endpointOf('/v1/delete')).toEqual({ _tag: 'Delete' })
  })
})
