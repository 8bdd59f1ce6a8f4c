/** The name of this process among the replicas. */
import { hostname } from 'node:os'
import type { Config } from '../config/schema.ts'

/** Returns the setting `replica.name`, or host name and process id: replicas on one machine have different names. */
export function replicaNameOf({ replica }: Pick<Config, 'replica'>): string {
  return replica.name ?? `${hostname()}-${process.pid}`
}
