"""Parts of what the environment says: sign-in, mail and chat, authorizers; and what each variable means."""
