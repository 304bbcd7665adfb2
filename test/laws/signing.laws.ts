/** The laws of signing and verifying. */
import { it } from 'vitest'
import { sign } from '../../src/signing/secret.ts'
import { verifyParsed, verifyRaw } from '../../src/signing/verify.ts'
import { registerLaws } from '../../src/testing/laws/checkLaws.ts'
import { signLaws } from '../../src/testing/laws/signLaws.ts'

registerLaws({ test: it }, signLaws({ sign, verifyRaw, verifyParsed }))
