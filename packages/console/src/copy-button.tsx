/** A button that copies the text of an element, also where the browser has no clipboard for pages (HTTP). */
import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'

type CopyResult = 'copied' | 'selected'

/** `source`: the element whose text is copied. */
export function CopyButton({ source }: { readonly source: RefObject<HTMLElement | null> }) {
  const result = useSignal<CopyResult | undefined>(undefined)
  const copy = async (): Promise<void> => {
    if (source.current !== null) result.value = await copyText(source.current)
  }
  return (
    <span class="copy">
      <button type="button" class="small" onClick={() => void copy()}>
        {result.value === 'copied' ? 'Copied' : 'Copy'}
      </button>
      <span role="status" class={result.value === 'selected' ? 'copy-hint' : 'hidden'}>
        {result.value === 'copied' && 'Copied'}
        {result.value === 'selected' && 'The browser does not allow it. The text is selected: copy it with Ctrl+C.'}
      </span>
    </span>
  )
}

/**
 * Browsers offer `navigator.clipboard` only to pages over HTTPS or from this machine. `execCommand` needs neither, and
 * copies the selection; it may be refused as well. Then the text stays selected for the user.
 */
async function copyText(element: HTMLElement): Promise<CopyResult> {
  try {
    await navigator.clipboard.writeText(element.innerText)
    return 'copied'
  } catch {
    getSelection()?.selectAllChildren(element)
    try {
      return document.execCommand('copy') ? 'copied' : 'selected'
    } catch {
      return 'selected'
    }
  }
}
