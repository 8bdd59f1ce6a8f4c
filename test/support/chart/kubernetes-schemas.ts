/** Validates manifests by the schemas of Kubernetes and of the Prometheus operator, as `kubectl --validate=strict` does. */

import { PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule'
import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor'
import { Deployment } from 'kubernetes-models/apps/v1/Deployment'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget'
import { ConfigMap } from 'kubernetes-models/v1/ConfigMap'
import { Secret } from 'kubernetes-models/v1/Secret'
import { Service } from 'kubernetes-models/v1/Service'

/** A class of a kind. */
interface Model {
  readonly apiVersion: string
  readonly kind: string
  /** The method throws if its object is wrong. A constructor is not used: it reads all fields. */
  readonly prototype: { validate(): void }
}

const models: readonly Model[] = [
  Deployment,
  NetworkPolicy,
  PodDisruptionBudget,
  ConfigMap,
  Secret,
  Service,
  ServiceMonitor,
  PrometheusRule,
]

/** A manifest as it was parsed. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
}

/** Returns what is wrong with a manifest: no schema for its kind, a wrong value, or a field that the schema does not have. */
export function faultsOf(manifest: Manifest): string[] {
  const { apiVersion, kind } = manifest
  const found = models.find((model) => model.apiVersion === apiVersion && model.kind === kind)
  if (found === undefined) return [`no schema for ${apiVersion} ${kind}`]
  const read = new Set<string>()
  try {
    found.prototype.validate.call(recordReads(manifest, '', read))
  } catch (error) {
    return [`${kind}: ${(error as Error).message}`]
  }
  return pathsOf(manifest)
    .filter((path) => !read.has(path))
    .map((path) => `${kind}: unknown field ${path}`)
}

/**
 * Returns an object with the same fields that records which of them the validator reads. The schemas allow additional
 * fields, so the validator reads every field that it knows, and no other.
 */
function recordReads(value: unknown, path: string, read: Set<string>): unknown {
  if (typeof value !== 'object' || value === null) return value
  return new Proxy(value, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof name === 'symbol') return member
      read.add(`${path}/${name}`)
      return recordReads(member, `${path}/${name}`, read)
    },
  })
}

/** Returns the paths of all fields, as `recordReads` writes them. */
function pathsOf(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => [`${path}/${name}`, ...pathsOf(member, `${path}/${name}`)])
}
