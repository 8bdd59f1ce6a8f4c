/** What can be wrong: values of `kind` of a problem, and of the label `reason` of `edge_degraded`. */
export const PROBLEM_KINDS = [
  'notReady',
  'noNode',
  'nodeUnreachable',
  'nodeHangs',
  'nodeCutOff',
  'nodeDrained',
  'addressBlocked',
  'credentialsRefused',
  'weakCredentials',
  'queueFull',
  'queueGrowing',
  'budgetUsedUp',
  'tokensCheckedLate',
  'redisUnreachable',
  'redisSlow',
  'redisFull',
  'redisWrongType',
  'certificateEnds',
  'configurationNotReloaded',
  'pendingRestart',
  'mixedLayouts',
  'replicaNotReady',
  'replicasDiffer',
  'cacheDisabled',
] as const

export type ProblemKind = (typeof PROBLEM_KINDS)[number]
