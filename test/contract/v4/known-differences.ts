/** What the replay does not demand, each with its reason. */
import type { Reason } from './v3-request.ts'

/** Exchanges that differ on purpose, by their lines in the recording. */
export const explained: ReadonlyMap<number, string> = new Map<number, string>([
  [37, 'the v3 layout sorts agents by their last message in place of their status'],
  [53, 'in the v3 layout a version has the name of the product'],
  [54, 'in the v3 layout a version has the name of the product'],
  [183, 'the v3 layout has its own code for an unknown agent'],
  [1178, 'in the v3 layout an agent does not belong to a group that does not exist'],
  [1158, 'in the v3 layout each agent of the list fails if the group does not exist'],
  [122, 'the edge counts the agents by their platform, which was not recorded for this user'],
  [414, 'the edge sorts by the v3 names of daemons (evaluated-by-edge.test.ts)'],
  [415, 'the edge sorts by the v3 names of daemons (evaluated-by-edge.test.ts)'],
  [1639, 'the edge compares the name of the system, because the node finds parts of it'],
  [732, 'the edge asks whether the agent exists: an unknown one is error 1701 in the v3 layout'],
  [1598, 'the edge asks whether the agent exists: an unknown one is error 1701 in the v3 layout'],
])

/** The number of recorded exchanges that no v3 request gives, by reason. */
export const withoutV3Request: Readonly<Record<Reason, number>> = {
  noSuchCall: 115,
  v3Word: 20,
  flag: 2,
  padded: 6,
  pages: 2,
  leftOut: 17,
  offset: 1,
  polled: 1,
  emptyValue: 6,
  mediaType: 15,
  severalTargets: 11,
  incomplete: 14,
  onlyV4: 46,
  form: 10,
  placeholder: 1,
  cache: 4,
  aboutWorker: 2,
  ownRestart: 1,
  unfilteredAgents: 105,
}

/** Endpoints for which a node of the v4 layout has no call, so that nothing of them was recorded but its refusal. */
export const withoutCall: readonly string[] = ['DELETE /cluster/:node_id/files']
