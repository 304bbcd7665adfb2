import { frameBytes, type BatchPayload, type EventPayload } from '../../src/event/payload.ts'

export type Batch = BatchPayload<number>
const FRAME = { prefix: '{"batch":[', suffix: ']}' }

export const batchOf = (count: number): Batch => {
  const members = Array.from({ length: count }, (_, at): EventPayload<number> => {
    const text = JSON.stringify({ at, text: 'é'.repeat(at % 5) })
    return { id: `m${at}`, items: [at], text, byteLength: Buffer.byteLength(text) }
  })
  const sum = members.reduce((bytes, member) => bytes + member.byteLength + 1, -1)
  const items = members.map(({ items: [item] }) => item)
  return { id: 'b', items, members, byteLength: frameBytes(FRAME) + sum, frame: FRAME, closedBy: 'count' }
}
