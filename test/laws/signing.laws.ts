/** The laws of signing and verifying. */
import { it } from 'vitest'
import { signatureOf } from '../../src/signing/secret.ts'
import { verifyParsed, verifyRaw } from '../../src/signing/verify.ts'
import { registerLaws, signLaws } from '../../src/testing/laws/index.ts'

registerLaws({ test: it }, signLaws({ sign: signatureOf, verifyRaw, verifyParsed }))
