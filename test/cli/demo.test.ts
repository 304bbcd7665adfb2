import { describe, expect, it } from 'vitest'
import { headrace, recordsOf } from './inProcess.ts'

describe('the demo', () => {
  it('tells what happened in words, and the sums add up', async () => {
    // One after the other: its receivers have 500 ms for an answer.
    const { code, stdout, stderr } = await headrace(['demo'])
    const json = await headrace(['demo', '--output', 'json'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^ready http:\/\/127\.0\.0\.1:\d+\/flaky http:\/\/127\.0\.0\.1:\d+\/slow\n/)
    expect(stderr).toContain('refused    line 10   userId must be a string, not a number\n')
    expect(stderr).toContain('refused    line 31   not JSON at character 66\n')
    expect(stderr).toContain('headrace: read 62 (2 refused) · delivered 59 · rejected 1\n')
    expect(stdout).toMatch(/\nwaiting .*flaky 503; slow timeout \(no verdict within 500 ms\); again in/)
    expect(stdout).toMatch(/\ndelivered .* after [23] attempts\n/)
    expect(stdout).toMatch(/\nrejected .*flaky 422; slow 422/)
    const account = '59 delivered \\+ 1 refused for good = 60'
    const line = `^${account}; (\\d+) requests, of which the receivers verified \\1$`
    expect(stdout).toMatch(new RegExp(line, 'm'))

    expect(json.code).toBe(0)
    const records = recordsOf(json.stdout)
    expect(records[0]).toMatchObject({ v: 1, t: 'ready' })
    expect(records.at(-1)).toEqual({
      ...{ v: 1, t: 'summary', read: 62, refused: 2, accepted: 60, delivered: 59, rejected: 1 },
      ...{ expired: 0, dropped: 0, abandoned: 0, waiting: 0 },
    })
  })
})
