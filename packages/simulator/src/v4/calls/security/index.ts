/** The calls about users, their rights and their sessions. */
import type { Call } from '../../model.ts'
import { descriptionCalls } from './descriptions.ts'
import { linkCalls } from './links.ts'
import { roleCalls } from './roles.ts'
import { sessionCalls } from './sessions.ts'
import { userCalls } from './users.ts'

export const securityCalls: readonly Call[] = [
  ...sessionCalls,
  ...userCalls,
  ...roleCalls,
  ...linkCalls,
  ...descriptionCalls,
]
