/** Names and addresses of the nodes in the benchmark: each has a separate loopback address. */
export function nodeName(node: number): string {
  return node === 0 ? 'master' : `worker-${String(node).padStart(3, '0')}`
}

export function addressOf(node: number): string {
  return `127.1.${node >> 8}.${node & 255}`
}
