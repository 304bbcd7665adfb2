// Signs the vectors in vectors.json anew, after a change of one: npm run docs:vectors
import { writeFileSync } from 'node:fs'
import { VECTOR_SECRET, receiverVectors } from '../../dist/testing/index.js'

const file = { version: 1, secret: VECTOR_SECRET, vectors: receiverVectors(VECTOR_SECRET) }
writeFileSync(new URL('vectors.json', import.meta.url), `${JSON.stringify(file, null, 2)}\n`)
