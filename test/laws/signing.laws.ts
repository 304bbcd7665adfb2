import { it } from 'vitest'
import { signatureOf, verifyParsed, verifyRaw } from '../../src/signing/index.ts'
import { registerLaws, signLaws } from '../../src/testing/laws/index.ts'

registerLaws({ test: it }, signLaws({ sign: signatureOf, verifyRaw, verifyParsed }))
