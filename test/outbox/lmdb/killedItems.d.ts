import type { ItemCodec } from '../../../src/outbox/lmdb/LmdbContract.ts'

export declare const textOf: (key: string) => string
export declare const keyOf: (text: string) => string
export declare const codec: ItemCodec<string>
