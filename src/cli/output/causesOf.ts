import type { Failure } from '../../outcome/Failure.ts'
import type { Cause } from './Report.ts'

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
      return failure.members.flatMap((member) => (member._tag === 'Left' ? causesOf(member.left, url) : []))
    case 'Expired':
      return causesOf(failure.last, url)
  }
}
