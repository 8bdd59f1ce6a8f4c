/** A button that shows and hides an explanation below. */

import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'

interface HintProps {
  /** What is explained. */
  readonly subject: string
  readonly children: ComponentChildren
}

/** Returns the button and the explanation, which have different places in the page. */
export function useHint({ subject, children }: HintProps) {
  const [isOpen, setIsOpen] = useState(false)
  const id = useId()
  const button = (
    <button
      type="button"
      class="hint-button"
      aria-label={`What is ${subject}?`}
      aria-expanded={isOpen}
      aria-controls={id}
      onClick={() => setIsOpen(!isOpen)}
    >
      ?
    </button>
  )
  const text = (
    <p id={id} class="hint" hidden={!isOpen}>
      {children}
    </p>
  )
  return { button, text }
}
