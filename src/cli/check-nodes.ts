/** The part of `manager-edge check --connect` that asks the nodes: layout, version, credentials, distribution, rights. */
import { pino } from 'pino'
import { buildCluster } from '../app/cluster.ts'
import { createReloadableConfig } from '../config/reloadable.ts'
import type { Config } from '../config/schema.ts'
import { type ErrorCode, errorTable } from '../core/errors.ts'
import { describeMixture, isRelease5, type Layout, type NodeFailure, type NodeResult } from '../core/node-call.ts'
import { describeFailure, faultRules, type NodeFault } from '../core/node-faults.ts'
import { layoutRules, versionIn } from '../layouts/layout-rules.ts'
import { type DistributionProbe, probeDistribution } from '../upstream/distribution.ts'
import type { Cluster } from '../upstream/index.ts'
import { callVersion, errorCodeIn, readAccountRights } from '../upstream/probes.ts'
import { findMissingRights } from './missing-rights.ts'
import { type Finding, failure } from './output.ts'

const RIGHTS_FIX = 'compare the policies of the account with docs/v4-layout.md, or give the users a lesser role'

/** Reports each node, and warnings about the account. Returns how many nodes failed. */
export async function checkNodes(config: Config, report: (finding: Finding) => void): Promise<number> {
  const { nodes, credentials, limits, discover } = config.cluster
  const { username = '', password = '' } = credentials
  const cluster = await connect(config, config.cluster.layout)
  const recogniser = config.cluster.layout === 'auto' ? cluster : await connect(config, 'auto')
  await recogniser.start()
  // A node without other nodes cannot distribute anything, whatever its setting.
  const isAlone = nodes.length === 1 && !discover
  let failed = 0
  const masterFirst = nodes.toSorted((a, b) => Number(b.type === 'master') - Number(a.type === 'master'))
  for (const { name, type } of masterFirst) {
    const layout = recogniser.view.layoutOf(name)
    const probe = {
      node: name,
      timeout: limits.timeout,
      caller: 'check',
      ...(username !== '' && { credentials: { username, password } }),
    }
    const wrongLayout = findWrongLayout(name, layout, config.cluster.layout)
    const nodeCase = { name, layout, mode: credentials.mode }
    const result = wrongLayout ?? describeResult(await callVersion(cluster, probe), nodeCase)
    const rules = layoutRules[layout ?? 'v3']
    const isDistributing = result.status === 'ok' && !isAlone && !rules.distributes
    const wrong = isDistributing ? await findWrongDistribution(cluster, probe, config.cluster.distribution) : undefined
    const isFailing = result.status === 'failed' && type === 'worker'
    const unused = isFailing ? findWorkerWithoutApi(name, cluster) : undefined
    const finding = unused ?? wrong ?? result
    const ok = finding.status === 'ok'
    if (finding.status === 'failed') failed++
    report(finding)
    if (ok && rules.hasRights && type === 'master' && credentials.mode === 'service') {
      const rights = await readAccountRights(cluster.call, probe)
      for (const text of findMissingRights(config, rights, cluster.view.releaseOf(name))) {
        report({ check: 'account', status: 'warning', text, fix: RIGHTS_FIX })
      }
    }
  }
  const mixture = recogniser.view.layoutMixture()
  if (mixture !== undefined) {
    report({
      check: 'layouts',
      status: 'warning',
      text: `nodes have different layouts (${describeMixture(mixture)}); writes are refused until all have one`,
      fix: 'install the same release of the manager on all nodes',
    })
  }
  await Promise.all([cluster.close(), recogniser.close()])
  return failed
}

function connect(config: Config, layout: Config['cluster']['layout']): Promise<Cluster> {
  const withoutDiscovery = { ...config, cluster: { ...config.cluster, layout, discover: false } }
  return buildCluster(createReloadableConfig(withoutDiscovery), pino({ level: 'silent' }))
}

/** Returns `undefined` unless the master has release 5.0. */
function findWorkerWithoutApi(name: string, { view }: Cluster): Finding | undefined {
  if (!isRelease5(view.releaseOf(view.master().name))) return undefined
  const text = `${name} does not answer: workers of release 5.0 have no API, and the edge does not use their addresses`
  return { check: name, status: 'warning', text, fix: 'remove it from cluster.nodes' }
}

/** Returns `undefined` if the layout is right, or if the node does not show it. */
function findWrongLayout(
  name: string,
  found: Layout | undefined,
  configured: Config['cluster']['layout'],
): Finding | undefined {
  if (found === undefined || configured === 'auto' || found === configured) return undefined
  const text = `its API has the ${found} layout, but cluster.layout is ${configured}`
  return { check: name, status: 'failed', text, fix: `set cluster.layout to ${found} or auto` }
}

/** What is wrong if the node distributes requests although the edge does, or if neither does. */
const WRONG_DISTRIBUTION = {
  manager: {
    found: 'off',
    text: 'it does not distribute requests, but cluster.distribution is manager; set cluster.distribution to edge, or enable distributed_api on the node',
  },
  edge: {
    found: 'on',
    text: 'it distributes requests itself, but cluster.distribution is edge; set cluster.distribution to manager, or disable distributed_api on the node',
  },
} as const

/** Returns `undefined` if the distribution is right, or if the node does not show it. */
async function findWrongDistribution(
  { call }: Cluster,
  probe: DistributionProbe,
  distribution: Config['cluster']['distribution'],
): Promise<Finding | undefined> {
  const { found, text } = WRONG_DISTRIBUTION[distribution]
  return (await probeDistribution(call, probe)) === found ? failure(probe.node, text) : undefined
}

/** Errors without a remedy for this command: no node is ejected, no queue can be full. */
const WITHOUT_REMEDY: ReadonlySet<ErrorCode> = new Set([920, 921, 949])

/** Why a node of the v4 layout answers no call now, by the code of its error, and what to do. */
const NOT_NOW: Readonly<Record<number, string>> = {
  1017: 'the node is starting or restarting (1017); try again in half a minute',
  3023: 'the worker is not connected to its master (3023); start the master, or check the network between the nodes',
  6000: 'the node refuses the address of the edge after failed logins (6000); correct the password, and wait 300 s',
  6001: 'the request limit of the node is reached (6001); wait a minute, or lower the load of its other clients',
}

/** The command has sent few calls, so the limit was reached by other clients of the node. */
const NOT_NOW_FAULTS: Readonly<Partial<Record<NodeFault, number>>> = { overloaded: 6001, blocked: 6000 }

interface NodeCase {
  readonly name: string
  readonly layout: Layout | undefined
  readonly mode: 'service' | 'passthrough'
}

/** Mode passthrough has no account to log in with, so a node that requires credentials counts as reachable. */
function describeResult(result: NodeResult, nodeCase: NodeCase): Finding {
  if (!result.ok) return findingOf(result, nodeCase)
  const { name, layout } = nodeCase
  const { response } = result
  const reason = layout && layoutRules[layout].showsProblems ? NOT_NOW[errorCodeIn(response)] : undefined
  if (reason !== undefined) return failure(name, reason)
  const version = layout && versionIn(response, layout)
  const facts = [layout && `${layout} layout`, version && `version ${version}`].filter(Boolean)
  return { check: name, status: 'ok', text: [`ok (status ${response.status})`, ...facts].join(', ') }
}

function findingOf(result: NodeFailure, { name, layout, mode }: NodeCase): Finding {
  const { fault } = result
  if (mode === 'passthrough' && fault === 'refusedCredentials') {
    const facts = layout === undefined ? '' : `, ${layout} layout`
    return { check: name, status: 'ok', text: `ok (status 401, it requires credentials)${facts}` }
  }
  const reason = layout && layoutRules[layout].showsProblems ? NOT_NOW[NOT_NOW_FAULTS[fault] ?? 0] : undefined
  if (reason !== undefined) return failure(name, reason)
  const { code } = faultRules[fault]
  const fix = WITHOUT_REMEDY.has(code) ? {} : { fix: errorTable[code].remedy }
  return { check: name, status: 'failed', text: `${fault}, ${describeFailure(result)}`, ...fix }
}
