/** Which rights an account of the newer layout needs for the permissions that the edge grants to its callers. */

/** An action on all objects of a type, as policies of the manager name both. */
export interface AccountRight {
  readonly action: `${string}:${string}`
  /** `*:*`: the action has no object. */
  readonly on: 'agent:id' | 'group:id' | 'node:id' | 'rule:file' | 'decoder:file' | 'list:file' | '*:*'
}

const onAgents = (action: AccountRight['action']): AccountRight => ({ action, on: 'agent:id' })
const onGroups = (action: AccountRight['action']): AccountRight => ({ action, on: 'group:id' })
const onNodes = (action: AccountRight['action']): AccountRight => ({ action, on: 'node:id' })
const inGeneral = (action: AccountRight['action']): AccountRight => ({ action, on: '*:*' })
const onRules = (action: AccountRight['action']): AccountRight => ({ action, on: 'rule:file' })
const onDecoders = (action: AccountRight['action']): AccountRight => ({ action, on: 'decoder:file' })
const onLists = (action: AccountRight['action']): AccountRight => ({ action, on: 'list:file' })

/** By the permission of the records. Permissions that no node is asked for are absent. */
export const accountRights: Readonly<Record<string, readonly AccountRight[]>> = {
  'active-response:run': [onAgents('active-response:command')],
  'agents:read': [onAgents('agent:read')],
  'agents:write': [inGeneral('agent:create')],
  'agents:delete': [onAgents('agent:delete')],
  'agents:restart': [onAgents('agent:restart')],
  'agents:upgrade': [onAgents('agent:upgrade')],
  'ciscat:read': [onAgents('ciscat:read')],
  'cluster:read': [onNodes('cluster:read'), inGeneral('cluster:status')],
  'cluster:restart': [onNodes('cluster:restart')],
  'decoders:read': [onDecoders('decoders:read')],
  'files:read': [onNodes('cluster:read'), onRules('rules:read'), onDecoders('decoders:read'), onLists('lists:read')],
  'files:write': [
    onNodes('cluster:update_config'),
    inGeneral('rules:update'),
    inGeneral('decoders:update'),
    inGeneral('lists:update'),
  ],
  'files:delete': [onRules('rules:delete'), onDecoders('decoders:delete'), onLists('lists:delete')],
  'groups:read': [onGroups('group:read'), onAgents('agent:read')],
  'groups:write': [
    inGeneral('group:create'),
    onGroups('group:modify_assignments'),
    onGroups('group:update_config'),
    onAgents('agent:modify_group'),
  ],
  'groups:delete': [onGroups('group:delete')],
  'lists:read': [onLists('lists:read')],
  'manager:read': [onNodes('cluster:read')],
  'manager:restart': [onNodes('cluster:restart')],
  'rootcheck:clear': [onAgents('rootcheck:clear')],
  'rootcheck:read': [onAgents('rootcheck:read')],
  'rootcheck:run': [onAgents('rootcheck:run')],
  'rules:read': [onRules('rules:read')],
  'sca:read': [onAgents('sca:read')],
  'summary:read': [onAgents('agent:read'), onGroups('group:read')],
  'syscheck:clear': [onAgents('syscheck:clear')],
  'syscheck:read': [onAgents('syscheck:read')],
  'syscheck:run': [onAgents('syscheck:run')],
  'syscollector:read': [onAgents('syscollector:read')],
}
