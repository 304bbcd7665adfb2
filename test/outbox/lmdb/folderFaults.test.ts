import { expect, it } from 'vitest'
import { folderFaults } from '../../../src/outbox/lmdb/opening/folderFaults.ts'

const saying = (folder: object): ReadonlyArray<string> =>
  folderFaults(folder).map(({ path, message }) => `${path} ${message}`)

it('are none of a path alone, and of numbers at their least', () => {
  expect(saying({ path: 'a' })).toEqual([])
  expect(saying({ path: 'a', maxCount: 1, maxBytes: 1, keepDead: 0 })).toEqual([])
  expect(saying({ path: 'a', maxCount: undefined, maxBytes: undefined, keepDead: undefined })).toEqual([])
})

it('name every field that is wrong, and no value', () => {
  expect(saying({ path: '', maxCount: 0, maxBytes: '5', keepDead: -1, owner: '', maxcount: 5 })).toEqual([
    'path must be a string that is not empty',
    'owner must be a string that is not empty',
    'maxCount must be a whole number from 1',
    'maxBytes must be a whole number from 1',
    'keepDead must be a whole number from 0',
    'maxcount is no setting; there are path, maxCount, maxBytes, keepDead, owner',
  ])
  expect(saying([])).toEqual(['path must be a string that is not empty'])
  expect(saying({ path: 'a', maxCount: Infinity })).toEqual(['maxCount must be a whole number from 1'])
})
