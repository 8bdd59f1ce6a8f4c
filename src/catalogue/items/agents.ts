/** Response schemas of agents and their groups. */
import {
  anyOfTypes,
  boolean,
  either,
  type Fields,
  integer,
  list,
  map,
  object,
  optional,
  ref,
  type Schema,
  TIME,
  text,
} from './schema.ts'

const agentFields: Fields = {
  id: text('At least three digits. 000 is the manager itself.'),
  name: text(),
  ip: text('An address, a prefix, or any.'),
  'registerIP?': text('The address of the registration, or any.'),
  status: text('Active, Disconnected, Never connected or Pending.'),
  dateAdd: text(`Time of the registration: ${TIME}.`),
  'lastKeepAlive?': text(`${TIME}. Absent if the agent never connected.`),
  'version?': text(),
  'manager?': text('Host name of the node that the agent is connected to.'),
  node_name: text('Node of the cluster; unknown if the agent never connected.'),
  'group?': list(text(), 'Absent if the agent has no group.'),
  'mergedSum?': text('Checksum of the merged files of its groups.'),
  'configSum?': text('Checksum of the agent.conf of its groups.'),
  'os?': object(
    optional({
      arch: text(),
      build: text(),
      codename: text(),
      major: text(),
      minor: text(),
      name: text(),
      platform: text(),
      uname: text(),
      version: text(),
    }),
    'Absent if the agent never connected.',
  ),
}

const failedAgent = object({ id: text(), error: object({ message: text(), code: integer() }) })
const affected: Fields = {
  msg: text('A sentence.'),
  affected_agents: list(text(), 'Ids of agents.'),
}
const failedIds = list(failedAgent, 'Ids that failed. Absent if none failed.')

const summary = object({
  Total: integer(),
  Active: integer(),
  Disconnected: integer(),
  'Never connected': integer(),
  Pending: integer(),
})
const collectionOf = (items: Schema): Schema => object({ items: list(items), totalItems: integer() })

export const agentItems = {
  Agent: object(agentFields),
  OutdatedAgent: object({ version: text(), id: text(), name: text() }),
  AgentSummary: summary,
  DistinctAgents: object(
    { ...optional(agentFields), 'internal_key?': text('The key of the agent. A secret.'), count: integer() },
    'A combination of values of the selected fields, and the number of agents that have it.',
  ),
  AgentKey: text('The key of the agent, encoded. A secret.'),
  AgentIdAndKey: object({ id: text(), key: text('The key of the agent, encoded. A secret.') }),
  GroupSync: object({ synced: boolean('Whether the agent has the current files of its groups.') }),
  Summary: object({
    nodes: collectionOf(object({ count: integer(), node_name: text() })),
    groups: collectionOf(ref('Group')),
    agent_os: collectionOf(
      object({ 'os?': object(optional({ name: text(), platform: text(), version: text() })), count: integer() }),
    ),
    agent_status: ref('AgentSummary'),
    agent_version: collectionOf(object({ 'version?': text(), count: integer() })),
    last_registered_agent: object(optional(agentFields), 'Empty if no agent is registered.'),
  }),
  AffectedAgents: object({ ...affected, 'failed_ids?': failedIds }),
  RemovedAgents: object({
    ...affected,
    'failed_ids?': failedIds,
    older_than: text('Seconds, or a number with d, h, m or s.'),
    total_affected_agents: integer(),
    'total_failed_ids?': integer('Absent if none failed.'),
  }),
  AssignedAgents: object({ ...affected, 'failed_ids?': list(text(), 'Ids of agents. Absent if none failed.') }),
  RemovedGroups: object({
    ...affected,
    ids: list(text(), 'Names of the removed groups.'),
    'failed_ids?': list(failedAgent, 'Names of groups that were not removed. Absent if none failed.'),
  }),
  Group: object({
    name: text(),
    count: integer('Number of agents in the group.'),
    'mergedSum?': text('Checksum of the merged files.'),
    'configSum?': text('Checksum of the agent.conf.'),
  }),
  GroupFile: object({ filename: text(), hash: text('By the algorithm of the parameter hash.') }),
  GroupConfiguration: object({
    filters: map(text(), 'The agents to which the block applies, such as os, name or profile.'),
    config: map(anyOfTypes('A section of agent.conf.', 'object', 'array', 'string'), 'Settings by section.'),
  }),
  ParsedGroupFile: either(
    anyOfTypes('The parsed file.', 'object', 'array'),
    text('The text of agent.conf, with format=xml.'),
  ),
  Platform: text('Platform of an operating system, such as ubuntu.'),
} as const
