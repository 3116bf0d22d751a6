// The one open definition: of a metric, a verdict or a word.

export interface Definition {
  title: string;
  about?: string;
  text: string;
}

export const open = $state<{ definition: Definition | null }>({ definition: null });

export function define(definition: Definition): void {
  open.definition = definition;
}
