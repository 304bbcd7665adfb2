import type { Failure } from '../../outcome/Failure.ts'
import type { Cause } from './Report.ts'

/** Members of a batch mostly fail for the same cause, and one is enough to say. */
const distinct = (causes: ReadonlyArray<Cause>): ReadonlyArray<Cause> => [
  ...new Map(causes.map((cause) => [JSON.stringify(cause), cause])).values(),
]

/** The causes of a failure, URL by URL. */
export const causesOf = (failure: Failure, url?: string): ReadonlyArray<Cause> => {
  switch (failure._tag) {
    case 'Refused':
    case 'Retryable': {
      const { reason, status, detail } = failure
      return [
        {
          ...(url === undefined ? {} : { url }),
          reason,
          ...(status === undefined ? {} : { status }),
          ...(detail === undefined ? {} : { detail }),
        },
      ]
    }
    case 'EachOf':
      return failure.causes.flatMap((cause) => causesOf(cause.failure, cause.sink))
    case 'SomeOf':
      return distinct(
        failure.members.flatMap((member) => (member._tag === 'Left' ? causesOf(member.left, url) : [])),
      )
    case 'Expired':
      return causesOf(failure.last, url)
  }
}
